"""Pressure on simulated nodes: too little memory, disk or process numbers, and the pods that are evicted for it."""

"""What admission policies say to a write: does a policy see it, and does it let it pass?"""

"""Change it? Refuse it?"""

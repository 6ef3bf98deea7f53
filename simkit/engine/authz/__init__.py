"""May they, and because of what?"""

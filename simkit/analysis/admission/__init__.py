"""Questions about admission: effects and coverage of policies and webhooks, expressions and their costs."""

"""Jobs and templates of jobs: validation of their spec, policies and schedules.

Follows ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

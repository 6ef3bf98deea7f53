"""Many clusters in one call: audited, checked and compared, on threads, processes or a Dask scheduler.

fleet = Fleet("dumps/*.json.gz")
fleet.audit().to_frame()            # all findings, with a column cluster
fleet.diff(golden="prod-eu")        # who differs from the golden one, in what access
"""

from simkit.fleet.fleet import Failure, Fleet, FleetAnswer
from simkit.fleet.members import Member

__all__ = ["Failure", "Fleet", "FleetAnswer", "Member"]

"""The scheduler service: fires schedules when their time has come, once each, with any number of replicas."""

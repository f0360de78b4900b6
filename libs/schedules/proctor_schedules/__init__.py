"""Schedule arithmetic: cron expressions, time zones, fire times, and what to do about a due one; pure."""

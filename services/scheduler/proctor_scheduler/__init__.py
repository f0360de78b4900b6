"""The scheduler service: consumes finished runs; cron schedules build on it."""

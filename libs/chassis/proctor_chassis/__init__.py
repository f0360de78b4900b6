"""What every process needs: bus, egress, secrets, health, logging, lifecycle."""

"""Messages, topology and API schemas: what the services say to each other and to clients."""

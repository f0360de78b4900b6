"""The alerter service: looks at completed runs and tells the right people what became worse."""

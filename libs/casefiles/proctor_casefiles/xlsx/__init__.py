"""Cases in a spreadsheet, both ways."""

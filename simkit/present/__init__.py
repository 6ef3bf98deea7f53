"""What people see, whoever shows it: escaped texts, readable tables, progress and colours."""

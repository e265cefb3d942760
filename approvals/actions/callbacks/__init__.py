"""Take decisions to durable engines, record the ones that no engine took, and settle those whose outcome is unknown."""

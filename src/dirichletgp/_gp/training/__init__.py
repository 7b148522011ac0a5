"""From rows to a fitted value: settings, searches, the schedule, streams."""

"""From probabilities to decisions: sets, costs, thresholds, labels to check, explanations."""

"""The review of items by native speakers: queue, decisions, the rule for agreement, adjudication, and reliability."""

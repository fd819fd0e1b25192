"""The review of items by native speakers: queue, decisions, the k-of-n rule, adjudication and agreement."""

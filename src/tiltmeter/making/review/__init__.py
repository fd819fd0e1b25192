"""Native speakers decide on items: queue, slots, decisions, the k-of-n rule, adjudication, agreement."""

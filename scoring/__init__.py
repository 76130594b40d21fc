"""What it means: detections, prediction files, matching, tracks, rules and scores."""

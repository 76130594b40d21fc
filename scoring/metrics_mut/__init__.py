"""The documented mutation-scoring calls: scripts run with `deepluq` replaced by `scoring`.

Every number comes from the modules one level up; here are names, dicts and lists.
"""

"""The shop's own tests are part of the showcase; they need its database and are not run here."""

collect_ignore = ["tests"]

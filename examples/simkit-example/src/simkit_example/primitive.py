"""An escalation primitive: whoever writes a Backup commands the operator that carries it out."""

BACKUPS = {
    "primitives": [
        {
            "id": "EX1",  # ids of simkit are a letter and a number; take a prefix of your own
            "title": "Controls the backup operator",
            "class": "deputy",
            "severity": {"cluster": "high", "namespace": "medium"},
            "mitigation": "Grant write access to backups only to subjects that may do what the operator may do.",
            "references": ["https://example.com/backups"],
            "variants": [
                {
                    "requires": ["create|update|patch backups.example.com"],
                    "deputy": "backup-operator",  # a part of the name of the operator's service account
                    "outcome": "deputy",
                    "execute": [
                        {"use": "requirements"},
                        {
                            "become": "deputy",
                            "because": "the operator runs the hooks of a backup with its own permissions",
                        },
                    ],
                }
            ],
        }
    ]
}

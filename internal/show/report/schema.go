package report

import _ "embed"

//go:generate go test -run TestSchemaCurrent . -args -update

// SchemaVersion is the version of the JSON that JSON writes. It grows when a member goes away or changes its
// meaning; new members do not change it.
const SchemaVersion = 1

// Schema is the JSON Schema (draft 2020-12) of what JSON writes. It is made from the types and their
// comments.
//
//go:embed schema.json
var Schema []byte

// Package postgres stores the rows of package history in PostgreSQL 15 or newer, and reads
// them.
//
// [Open] and [Store] are the entry points. connect.go reads the URL of the connection from a
// file, migrate.go creates the tables, write.go inserts and deletes rows, and read.go selects
// them.
//
// Errors never contain the password. Non-goals: the package doesn't queue or repeat anything.
package postgres

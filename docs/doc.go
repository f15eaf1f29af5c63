// Package docs is where the reference pages are: written from the program's own tables, and held to them by a test.
package docs

//go:generate go test -run "TestBuiltins|TestCommands" . -update

// Package dotnet knows how .NET runs code: where methods that were compiled ahead of time have their arguments and
// results, by the signatures in the metadata of their assembly, and where they are left.
//
// The runtime (CoreCLR) walks the stacks of its threads for exceptions and garbage collection, so no return address
// may be replaced; and where a thread is stopped it decodes the code there to see whether the frame is being taken
// down, so that of an epilogue only the first instruction may be changed.
package dotnet

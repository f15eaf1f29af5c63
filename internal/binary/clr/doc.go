// Package clr reads what .NET's compilers leave in a file (.dll, .exe): the PE image, the metadata of types and methods
// (ECMA-335, partition II), and the tables of code that was compiled ahead of time (ReadyToRun).
//
//	im, err := clr.Open(data)
//	for _, body := range im.Bodies() {
//		name := im.Name(body) // "System.IO.File::Exists(string)"
//	}
//
// Addresses are those of the image, counted from its beginning (RVAs). Nothing is read before it is asked for; all
// that is given is a copy, but the data must stay as it is while an Image is used. Files may be hostile: what is made
// of one is bounded by its size.
package clr

// Package image opens programs and libraries, each once, with all that they tell: the ELF file, debug information, call
// frames, and what packages for language runtimes add.
//
//	set := image.NewSet(ctx, image.Options{})
//	defer set.Close()
//	im, err := set.Open("/usr/bin/node")
//	defer im.Close()
//	info, err := im.Info()
//
// A Set knows files by what they are, not by their names: two paths, hard links and the mappings of a process lead to
// the same Image, and a file that has replaced another at its path is a different one. Users are counted; an image is
// closed with its last user. Nothing is read before it is asked for.
package image

// Package kernel loads BPF programs, attaches them, and reads what they send. It alone changes the kernel.
//
//	features := kernel.NewFeatures()
//	loaded, err := kernel.Load(&object, kernel.Options{Features: features})
//	defer loaded.Close()
//	failed, err := loaded.Attach(ctx, nil)
//	loaded.Ring().Read(func(record []byte) error { … })
//
// Everything hangs on file descriptors of this process: nothing is pinned, no named event is made, no file is written.
// So whatever ends the process, kill -9 too, ends all that it attached.
//
// Features are probed for, never guessed from version numbers, and only when asked for: a script that needs none costs
// no system call. What an old kernel would accept and ignore (an attach type) is probed by a link, not by a load.
//
// Programs of one object interrupt each other on a CPU: a timer's program runs in the midst of a uprobe's, and from 6.0
// on uprobe programs can be preempted or sleep, so that another task runs the same one on the same CPU. Per-CPU memory
// that a program works in is therefore not its own unless it has taken it (TestScratchIsShared shows it).
//
// What the kernel's interfaces cost and where they differ between versions is written beside the code that depends on
// it.
//
// It is more than 4,000 lines because what alone changes the kernel can be looked through for what is left behind.
package kernel

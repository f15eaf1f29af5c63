// Package opener opens files whose names come from elsewhere: from other files, from processes, from the user. We run
// as root on files of containers that nobody trusts, and to open a file can do harm already: a FIFO whose reader we
// become breaks the pipe of its writer, a device may start to do something, a link may lead out of the container.
//
// So no path is opened before it has been looked at, by a handle that does not open it (O_PATH, open(2)):
//
//	f, err := opener.OfProcess(pid).Open(path)   // in the root of a process, also where links lead
//	f, err := opener.Beside(file).Open(path)     // what a file names: in that file's root
//	f, err := opener.Asked(path)                 // what the user names: any regular file
//
// A test of the module's root (opens_test.go) holds that nothing else opens files but a short list that it has.
package opener

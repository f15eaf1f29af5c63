// Calls functions of the standard library.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	if err := os.WriteFile("written", []byte("hello"), 0o640); err != nil {
		panic(err)
	}
	_, err := net.DialTimeout("tcp", "127.0.0.1:1", 2*time.Second)
	fmt.Fprintf(os.Stdout, "%v\n", err != nil)
	cmd := exec.Command("echo", "a", "b")
	fmt.Println(len(cmd.Args), strings.Repeat("ab", 3), time.Unix(0, 0).UTC().Format("2006"))
}

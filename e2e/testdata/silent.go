// Command silent is a server of debug files that takes requests and never answers.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
)

func main() {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println("asked")
		<-r.Context().Done()
		fmt.Println("left")
	}))
	defer s.Close()
	if err := os.WriteFile("url", []byte(s.URL), 0o666); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	select {}
}

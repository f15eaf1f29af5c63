// Calls main.(*server).handle with two requests, each of questions in a slice.
package main

type question struct {
	Name  string
	Qtype uint16
}

type message struct {
	ID       uint16
	Question []question
	Labels   []string
}

type server struct{ addr string }

//go:noinline
func (s *server) handle(name string, r *message, tags []string) int {
	return len(r.Question) + len(name) + len(tags)
}

func main() {
	s := &server{addr: "127.0.0.1:53"}
	text := "example.com.www.example.org.behind"
	n := s.handle(text[:12], &message{ID: 1, Question: []question{{text[:12], 1}, {text[12:28], 28}}}, []string{"a", "bc"})
	n += s.handle(text[12:28], &message{ID: 2, Question: []question{{text[12:28], 28}}, Labels: []string{"l"}}, nil)
	if n != 33 {
		panic(n)
	}
}

package main

import "math/rand/v2"

type rng = rand.Rand

// language is how programs are made in one language.
type language struct {
	name     string
	simple   func(*program) *typ       // a random type that needs no declaration
	declare  func(*program) *typ       // a random type that does
	pass     func(*program, *param)    // decides how a parameter is passed
	decorate func(*program, *function) // decides what else a function is
	build    func(*rng) build
	patterns func(p *program) []string // what is asked of the tracer
	// raw is the name of a parameter where there is no debug information.
	raw   func(f *function, i int) string
	write func(p *program, dir string) error
}

func languages() []*language {
	return []*language{cLanguage(false), cLanguage(true), rustLanguage(), goLanguage()}
}

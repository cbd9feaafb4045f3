// Command craneexport does the work of `crane export`: it writes the files of an image to
// stdout as a tar archive. The benchmarks compare module pull with it. crane itself is
// another Go module with many dependencies around the same library.
package main

import (
	"log"
	"os"

	"github.com/google/go-containerregistry/pkg/crane"
)

func main() {
	img, err := crane.Pull(os.Args[1])
	if err == nil {
		err = crane.Export(img, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Clientgen writes the files of clients/ that follow from the OpenAPI descriptions of both interfaces:
// the types and methods of the Python client, and the Postman collections. A test compares the files
// with the descriptions.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	files, err := generate(root)
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the generated files of the repository at root, by their paths in it.
func generate(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, face := range []string{"a", "b"} {
		source := "gateway-" + face + "/openapi/openapi.yaml"
		d, err := read(filepath.Join(root, source))
		if err != nil {
			return nil, err
		}
		if files["clients/python/src/reservation_client/"+face+".py"], err = python(d, source); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		if files["clients/postman/interface-"+face+".postman_collection.json"], err = postman(d, face); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	return files, nil
}

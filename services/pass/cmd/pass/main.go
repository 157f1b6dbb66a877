// Command pass serves the pass service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/pass"
)

func main() { service.Main(pass.Part()) }

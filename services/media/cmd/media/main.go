// Command media serves the media service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/media"
)

func main() { service.Main(media.Part()) }

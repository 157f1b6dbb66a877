package compose
import ("testing";"time")
func TestTmpImages(t *testing.T) {
	needDocker(t)
	d := startDocker(t)
	for _, s := range stands(t) { d.make(t, s) }
	d.run(t, buildLimit, "docker", "compose", "build", "--build-arg", "VERSION=dev", "booking", "gateway-a")
	t.Log(d.run(t, time.Minute, "docker", "images"))
	d.testImage(t, "booking", "dev")
	d.testImage(t, "gateway-a", "dev")
}

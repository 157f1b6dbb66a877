package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// CollectBuild registers build_info, which is always 1: its labels say which
// version runs, so that a change of anything else can be laid beside a rollout.
func CollectBuild(r prometheus.Registerer, version string) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "build_info", Help: "1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	return r.Register(info)
}

// Package consequences measures what changes of objects do in a cluster, and makes the
// rules of package forecast from the measurements.
//
// The files of testdata/cases have objects and changes of their fields. TestMeasure
// makes each change on the control plane of package harness and records the effects in
// testdata/measurements.json: refusals, replaced Pods, lost addresses and volumes.
// testdata/rules.yaml has the fields and conditions of the rules with their reasons,
// but not their effects: [Generate] takes them from the measurements, and reports
// measurements that contradict each other. A rule that can't be measured here, because
// it is about kubelets, networks or clouds, has an effect with its source.
//
// `make consequences` measures again. The tests without a cluster check that the rules
// in the tree are those of the measurements, and that the forecast of every case agrees
// with its measurement.
package consequences

package kinds

import "k8s.io/apimachinery/pkg/version"

// byPriority orders versions of an API as kubectl does: v2, v1, v1beta1.
func byPriority(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) }

package cpu

// The functions of the vector tiers, and those for memory beyond the caches. Which of these are the same ones deal with memory that is in a
// cache on the whole, as weights that are converted do not.
var (
	vectors512 = vectors{
		curves: map[string]curve{"gelu_tanh": {value: gelu512, grad: geluGrad512, gate: geluGate512, gateGrad: geluGateGrad512},
			"silu": {value: silu512, grad: siluGrad512, gate: siluGate512, gateGrad: siluGateGrad512}},
		fill: fill512, move: move512, add: add512, addTo: addTo512, addRow: addRow512, multiply: multiply512, rotate: rotate512, adamw: adamw512,
		sums: sums512, addSums: addSums512, rmsRow: rmsRow512, rmsAddRow: rmsAddRow512, rmsGradRow: rmsGradRow512, rmsGradEnd: rmsGradEnd512, rmsGradAdd: rmsGradAdd512,
		layerRow: layerRow512, layerAddRow: layerAddRow512, layerGradRow: layerGradRow512, layerGradEnd: layerGradEnd512, layerGradAdd: layerGradAdd512, dyt: dyt512, dytGrad: dytGrad512, dropout: dropoutVector(dropout512),
		narrow: narrowVector(narrow512), widen: widenVector(widen512), allFinite: allFinite512, maximum: maximum512, expSum: expSum512, slopes: slopes512,
	}
	vectorsFar512 = vectors{
		curves: map[string]curve{"gelu_tanh": {value: geluFar512, grad: geluGradFar512, gate: geluGateFar512, gateGrad: geluGateGradFar512},
			"silu": {value: siluFar512, grad: siluGradFar512, gate: siluGateFar512, gateGrad: siluGateGradFar512}},
		fill: fillFar512, move: moveFar512, add: addFar512, addTo: addTo512, addRow: addRowFar512, multiply: multiplyFar512, rotate: rotateFar512, adamw: adamw512,
		sums: sumsFar512, addSums: addSumsFar512, rmsRow: rmsRowFar512, rmsAddRow: rmsAddRowFar512, rmsGradRow: rmsGradRowFar512, rmsGradEnd: rmsGradEndFar512, rmsGradAdd: rmsGradAddFar512,
		layerRow: layerRowFar512, layerAddRow: layerAddRowFar512, layerGradRow: layerGradRowFar512, layerGradEnd: layerGradEndFar512, layerGradAdd: layerGradAddFar512, dyt: dytFar512, dytGrad: dytGradFar512, dropout: dropoutVector(dropoutFar512),
		narrow: narrowVector(narrow512), widen: widenVector(widen512), allFinite: allFinite512, maximum: maximum512, expSum: expSum512, slopes: slopes512,
	}
	vectors256 = vectors{
		curves: map[string]curve{"gelu_tanh": {value: gelu256, grad: geluGrad256, gate: geluGate256, gateGrad: geluGateGrad256},
			"silu": {value: silu256, grad: siluGrad256, gate: siluGate256, gateGrad: siluGateGrad256}},
		fill: fill256, move: move256, add: add256, addTo: addTo256, addRow: addRow256, multiply: multiply256, rotate: rotate256, adamw: adamw256,
		sums: sums256, addSums: addSums256, rmsRow: rmsRow256, rmsAddRow: rmsAddRow256, rmsGradRow: rmsGradRow256, rmsGradEnd: rmsGradEnd256, rmsGradAdd: rmsGradAdd256,
		layerRow: layerRow256, layerAddRow: layerAddRow256, layerGradRow: layerGradRow256, layerGradEnd: layerGradEnd256, layerGradAdd: layerGradAdd256, dyt: dyt256, dytGrad: dytGrad256, dropout: dropoutVector(dropout256),
		narrow: narrowVector(narrow256), widen: widenVector(widen256), allFinite: allFinite256, maximum: maximum256, expSum: expSum256, slopes: slopes256,
	}
	vectorsFar256 = vectors{
		curves: map[string]curve{"gelu_tanh": {value: geluFar256, grad: geluGradFar256, gate: geluGateFar256, gateGrad: geluGateGradFar256},
			"silu": {value: siluFar256, grad: siluGradFar256, gate: siluGateFar256, gateGrad: siluGateGradFar256}},
		fill: fillFar256, move: moveFar256, add: addFar256, addTo: addTo256, addRow: addRowFar256, multiply: multiplyFar256, rotate: rotateFar256, adamw: adamw256,
		sums: sumsFar256, addSums: addSumsFar256, rmsRow: rmsRowFar256, rmsAddRow: rmsAddRowFar256, rmsGradRow: rmsGradRowFar256, rmsGradEnd: rmsGradEndFar256, rmsGradAdd: rmsGradAddFar256,
		layerRow: layerRowFar256, layerAddRow: layerAddRowFar256, layerGradRow: layerGradRowFar256, layerGradEnd: layerGradEndFar256, layerGradAdd: layerGradAddFar256, dyt: dytFar256, dytGrad: dytGradFar256, dropout: dropoutVector(dropoutFar256),
		narrow: narrowVector(narrow256), widen: widenVector(widen256), allFinite: allFinite256, maximum: maximum256, expSum: expSum256, slopes: slopes256,
	}
)

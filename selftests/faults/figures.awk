# SPDX-License-Identifier: GPL-2.0-only
#
# figures.awk - add up what the programs report: "# figures: name number ..."

/# figures: / {
	sub(/.*# figures: /, "")
	n = split($0, word, " ")
	for (i = 1; i < n; i += 2) {
		if (!(word[i] in sum))
			name[++names] = word[i]
		sum[word[i]] += word[i + 1]
	}
}

# What was wrong is the last word.
END {
	printf "faults:"
	for (i = 1; i <= names; i++)
		if (name[i] != "violations")
			printf " %s %d,", name[i], sum[name[i]]
	printf " violations %d\n", sum["violations"]
}

// A section is found if it has all words that were typed. Those with words in the title come first, then
// those with the words side by side.
const box = document.getElementById("search"), found = document.getElementById("found")
box.addEventListener("input", () => {
	const words = box.value.toLowerCase().split(/\s+/).filter(Boolean)
	const hits = words.length == 0 ? [] : documents
		.map(d => ({ ...d, low: d.text.toLowerCase() }))
		.filter(d => words.every(w => d.low.includes(w)))
	const phrase = words.join(" ")
	const rank = d => 2 * words.filter(w => d.title.toLowerCase().includes(w)).length + d.low.includes(phrase)
	hits.sort((a, b) => rank(b) - rank(a))
	found.replaceChildren(...hits.slice(0, 12).map(d => {
		const item = document.createElement("li"), link = document.createElement("a")
		const at = d.low.includes(phrase) ? d.low.indexOf(phrase) : d.low.indexOf(words[0])
		link.href = document.body.dataset.top + d.url
		link.textContent = d.title
		item.append(link, " " + d.text.slice(Math.max(0, at - 30), at + 70).replace(/\s+/g, " "))
		return item
	}))
	if (words.length > 0 && hits.length == 0) found.textContent = "Nothing has all these words."
})

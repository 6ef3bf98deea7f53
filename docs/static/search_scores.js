// How well a page answers a search: guides come before the reference, and members of classes last.
const SCORES = [
  [/^(how-to\/|tutorials\/first-hour|testing|sources|course\/teachers-guide)/, 12],
  [/^(gaps|analyses|reference\/commands\/)/, 4],
  [/^(changelog|walk|contributing)/, -4],
];

// Of pages that hold all words equally well, the one comes first whose title has most of them.
const inTitle = (title) => {
  const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().match(/[\w:.]{3,}/g) ?? [];
  return words.filter((word) => !stopwords.has(word) && title.toLowerCase().includes(word)).length;
};

var Scorer = {
  score: ([page, title, , , score]) =>
    score + inTitle(title) + (SCORES.find(([pattern]) => pattern.test(page)) ?? [null, 0])[1],
  objNameMatch: 11,
  objPartialMatch: 2,
  objPrio: { 0: 5, 1: 2, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Keeps every file of the playground, so that the next visit needs no network, and lets nothing go to another place.
const KEPT = "playground {{ version }}";
const FILES = new Set(["{{ files }}"].map((name) => new URL(name, self.registration.scope).href));
const SMALL = ["./", "page.css", "page.js", "mark.svg"];

self.addEventListener("install", (event) => {
  if (!self.registration.active) self.skipWaiting(); // the first visit; a later version waits until no tab has this one
  event.waitUntil(caches.open(KEPT).then((kept) => kept.addAll(SMALL)));
});

self.addEventListener("activate", (event) => {
  const others = caches.keys().then((names) => Promise.all(names.filter((name) => name.startsWith("playground ") && name !== KEPT).map((name) => caches.delete(name))));
  event.waitUntil(others.then(() => self.clients.claim()));
});

async function answered(request) {
  const kept = await caches.open(KEPT);
  const known = await kept.match(request, { ignoreSearch: true });
  if (known) return known;
  const response = await fetch(request);
  if (response.ok && FILES.has(request.url)) await kept.put(request, response.clone());
  return response;
}

self.addEventListener("fetch", (event) => {
  const own = event.request.method === "GET" && event.request.url.startsWith(self.registration.scope);
  event.respondWith(own ? answered(event.request) : Response.error());
});

-- Requests that differ in one name: config maps of 1 KB ("create") or access reviews about users of their own ("review").
-- The first argument makes the names of one run differ from others, the second tells the kind.
local data = {}
for line = 0, 5 do data[#data + 1] = '"key-' .. line .. '":"' .. string.rep(tostring(line), 140) .. '"' end
local kinds = {
  create = {
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-',
    '"},"data":{' .. table.concat(data, ",") .. "}}",
  },
  review = {
    '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u',
    '","resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}}}',
  },
}
local run, sent, kind = "", 0, nil
wrk.headers["Content-Type"] = "application/json"

function init(arguments)
  run, kind = arguments[1], kinds[arguments[2]]
end

function request()
  sent = sent + 1
  return wrk.format("POST", nil, nil, kind[1] .. run .. "-" .. sent .. kind[2])
end

-- Access reviews about a thousand users.
local sent = 0
local first = '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u'
local rest = '","resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}}}'
wrk.headers["Content-Type"] = "application/json"

function request()
  sent = sent + 1
  return wrk.format("POST", nil, nil, first .. sent % 1000 .. rest)
end

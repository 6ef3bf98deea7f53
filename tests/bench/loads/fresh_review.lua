-- Access reviews about users of their own; the first argument makes the names of one run differ from others.
local run, sent = "", 0
local first = '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u'
local rest = '","resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}}}'
wrk.headers["Content-Type"] = "application/json"

function init(arguments) run = arguments[1] end

function request()
  sent = sent + 1
  return wrk.format("POST", nil, nil, first .. run .. "-" .. sent .. rest)
end

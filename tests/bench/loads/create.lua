-- Config maps of 1 KB, each with a name of its own; the first argument makes the names of one run differ from others.
local run, sent = "", 0
local data = {}
for line = 0, 5 do data[#data + 1] = '"key-' .. line .. '":"' .. string.rep(tostring(line), 140) .. '"' end
local rest = '"},"data":{' .. table.concat(data, ",") .. "}}"
local first = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-'
wrk.headers["Content-Type"] = "application/json"

function init(arguments) run = arguments[1] end

function request()
  sent = sent + 1
  return wrk.format("POST", nil, nil, first .. run .. "-" .. sent .. rest)
end

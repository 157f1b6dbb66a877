// Gets a token for the credentials, unless there is one that is valid for five more minutes.
const id = pm.variables.get('ID_NAME');
const valid = pm.collectionVariables.get('tokenOwner') === id && Number(pm.collectionVariables.get('tokenEnd')) > Date.now() + 300000;
if (!valid && !pm.request.url.getPath().endsWith('TOKEN_PATH')) {
  pm.sendRequest({
    url: pm.variables.get('base') + 'TOKEN_PATH',
    method: 'POST',
    header: { 'Content-Type': 'application/json' },
    body: { mode: 'raw', raw: JSON.stringify({ ID_MEMBER: id, SECRET_MEMBER: pm.variables.get('SECRET_NAME') }) },
  }, (error, response) => {
    if (error || response.code !== 200) throw new Error(error ? error.message : response.text());
    const { TOKEN_MEMBER: token, LIFETIME_MEMBER: seconds } = response.json();
    pm.collectionVariables.set('token', token);
    pm.collectionVariables.set('tokenOwner', id);
    pm.collectionVariables.set('tokenEnd', String(Date.now() + seconds * 1000));
  });
}
